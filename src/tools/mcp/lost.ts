/** The server no longer knows the session, and has not begun the call: it can be repeated in a new session. */
export class SessionLost extends Error {}

/** A call was sent, and its answer will not come: it may have been carried out. */
export class AnswerLost extends Error {}
