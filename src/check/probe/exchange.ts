/** One request of a check. Equal requests are sent once, and their checks share the reply. */
export type Ask = {
  /** `POST` with a body, `GET` without one. */
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, in place of a body: broken JSON. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A key that the server does not know is sent in place of the given one. */
  readonly isWrongKey?: true
  /** Each body is a message on one WebSocket; the next one is sent when a response has ended. */
  readonly socket?: readonly unknown[]
  /** How long the reply may take; default: as the run allows. */
  readonly limitMs?: number
  /** Reading a stream ends after this many events. */
  readonly enoughEvents?: number
  /** Tells a request that is sent again from the first one. */
  readonly take?: string
}

/** One event of a stream, or one line of JSON. */
export type StreamEvent = {
  readonly name?: string
  readonly data: string
  /** Undefined for what is not JSON. */
  readonly json: unknown
  /** Since the request was sent. */
  readonly atMs: number
}

export type Exchange = {
  readonly ask: Ask
  /** 0 if no reply came. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Undefined for a stream, and for what is not JSON. */
  readonly json: unknown
  readonly events: readonly StreamEvent[]
  readonly ms: number
  /** Reading ended after enough events. */
  readonly isCut?: true
  /** Why there is no reply, or not all of it: it took too long, the connection broke. */
  readonly failure?: string
  /** How many of the requests besides (`Meanwhile`) had not ended by themselves when it was sent. */
  readonly running?: number
}

/**
 * Requests that others run besides: `besides` are started, and `ask` is sent once each of them streams. With `leaves`, their connections
 * are closed first. Ends all of them.
 */
export type Meanwhile = { readonly besides: readonly Ask[]; readonly ask: Ask; readonly leaves: boolean }

/** The facts about a server that the checks need. */
export type Server = {
  readonly model: string
  /** The model for vectors and rankings. */
  readonly vectorModel: string
  /** Tokens that one request may use; undefined where the server does not say. */
  readonly contextLength: number | undefined
  /** Requests that it generates at the same time; undefined where it does not say. */
  readonly slots: number | undefined
  /** Accepts `ignore_eos`, with which each generation runs to its limit. */
  readonly hasEndlessRuns: boolean
  /** Tokens of a prompt that it reads in a second. */
  readonly promptSpeed: number
  /** Tokens of one of the words of long prompts. */
  readonly tokensPerWord: number
  readonly hasKey: boolean
}
