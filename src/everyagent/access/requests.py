"""What the API needs of the log to report its requests."""

from everyagent.log.audit import AuditEntry, AuditFault, AuditQuery, AuditRecord, verified
from everyagent.log.pending_audit import PendingAudit, set_pending

__all__ = ["AuditEntry", "AuditFault", "AuditQuery", "AuditRecord", "PendingAudit", "set_pending", "verified"]
