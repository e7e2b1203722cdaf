"""Sign-in with OpenID Connect: the authorization code flow with PKCE. Needs `everyagent[oidc]`."""
