"""The audit trail, for the API: it may not import the log."""

from everyagent.log.audit import AuditEntry, AuditFault, AuditQuery, AuditRecord, verified
from everyagent.log.pending_audit import PendingAudit, set_pending

__all__ = ["AuditEntry", "AuditFault", "AuditQuery", "AuditRecord", "PendingAudit", "set_pending", "verified"]
