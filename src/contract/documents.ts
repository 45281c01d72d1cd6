/**
 * Named JSON documents that the processes of one database have in common. Calls reject with `store-unavailable` when the database fails;
 * what was last read then stays known.
 */
export interface SharedDocuments {
  /** Calls the listener with the document and after each change of it, wherever it was made; not while there is none. Resolves after the first read. */
  watch(name: string, listener: (json: unknown) => void): Promise<void>
  /** Reads a watched document again if it has changed: a notification may be on its way. */
  refresh(name: string): Promise<void>
  /** Replaces the document, undefined at first, by what `edit` makes of it: one change at a time, in all processes. */
  change(name: string, edit: (json: unknown) => unknown): Promise<void>
}
