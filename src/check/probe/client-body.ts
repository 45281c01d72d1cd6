/** A request of a program with its default settings; its texts and its list of tools are shortened. */
export type ClientBody = {
  readonly client: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** About what the request has before it is shortened. */
  readonly tokens: number
  readonly body: Readonly<Record<string, unknown>>
}
