"""Everything that changes a balance. Each verb is one SQL function of the migrations, called from here.

Lock order, for every transaction that takes more than one of these:
**job → auto-approve rule → account → key counter**, and for payments **payment → top-up → account**.
A verb takes the organization's account itself, as its first lock, and a hold only under its account's
lock; a caller that also locks a job does so before it calls a verb, and never after.

A verb is named by its `source`: the same source again changes nothing and reports what was done first.
"""
