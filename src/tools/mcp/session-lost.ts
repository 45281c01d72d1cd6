/** A server does not know the session any more, and has not begun the call: a new session can have it. */
export class SessionLost extends Error {}
