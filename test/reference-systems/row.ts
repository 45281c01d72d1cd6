/** What a test sends, and what of the reply it checks. */
export type Probe = {
  readonly call: string
  readonly body?: object
  /** The API key: `admin` unless given; `none` sends none. */
  readonly key?: 'admin' | 'user' | 'none'
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
  readonly reply?: RegExp
}

/** A row of a reference system's table: one of its routes, settings or behaviours. */
export type Row = {
  readonly what: string
  /** `served`: as there. `mapped`: the same purpose in another form. `refused`: not there, and the reply says what to use instead. */
  readonly outcome: 'served' | 'mapped' | 'refused'
  readonly note: string
  readonly probes?: readonly Probe[]
}

export type ReferenceTable = { readonly title: string; readonly introduction: string; readonly rows: readonly Row[] }

/** A row whose probe only checks that it is refused, with advice. */
export function refused(what: string, note: string, calls: readonly string[], reply: RegExp): Row {
  const probes = calls.map((call) => ({ call, status: 404, reply, ...(call.startsWith('POST') && { body: {} }) }))
  return { what, outcome: 'refused', note, probes }
}
