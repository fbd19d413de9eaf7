"""Settings: `development` runs with no environment at all, `production` refuses to start with a missing one."""
