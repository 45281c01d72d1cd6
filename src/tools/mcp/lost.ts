/** A server does not know the session any more, and has not begun the call: a new session can have it. */
export class SessionLost extends Error {}

/** A call was sent, and its answer will not come: it may have been carried out. */
export class AnswerLost extends Error {}
