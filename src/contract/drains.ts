/** An operator's change: whether a server of a model gets new requests. */
export type DrainChange = {
  /** The id of the model. */
  readonly model: string
  /** The URL of the server, as the model has it. */
  readonly url: string
  readonly isDraining: boolean
}

/** A server that was found for such a change. */
export type DrainedServer = {
  readonly url: string
  /** Host and port, as reports have them. */
  readonly host: string
  /** What still runs on it. */
  readonly activeRequests: number
}
