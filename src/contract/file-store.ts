/** A file that a caller uploaded. */
export type StoredFile = {
  readonly id: string
  readonly filename: string
  /** As declared by the upload; a reader goes by the bytes. */
  readonly mediaType: string
  readonly sizeBytes: number
  /** OpenAI's; Anthropic's files have none. */
  readonly purpose?: string
  readonly createdAtMs: number
}

export type NewFile = Pick<StoredFile, 'filename' | 'mediaType'>

/** Keeps what callers upload, each for itself: a file of another caller is as if it were not there. */
export interface FileStore {
  /**
   * Keeps a file of which all bytes arrive; otherwise nothing stays. `purposeOf` is asked when they have, and may reject. Rejects with
   * `body-too-large`, `request-conflict` when the caller's room is full, and the signal's reason.
   */
  add(
    owner: string,
    file: NewFile & { readonly bytes: AsyncIterable<Uint8Array>; purposeOf(): Promise<string | undefined> },
    signal: AbortSignal,
  ): Promise<StoredFile>
  /** The newest first. */
  list(owner: string): Promise<readonly StoredFile[]>
  /** Rejects with `not-found`. */
  get(owner: string, id: string): Promise<StoredFile>
  content(owner: string, id: string): Promise<AsyncIterable<Uint8Array>>
  delete(owner: string, id: string): Promise<void>
}

/** Where files are kept, of all callers, without rules of its own. Processes share it. */
export interface FilePlace {
  /** Takes the bytes of a new file, which is not there before it is kept. */
  write(owner: string, id: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  keep(owner: string, file: StoredFile): Promise<void>
  list(owner: string): Promise<readonly StoredFile[]>
  get(owner: string, id: string): Promise<StoredFile | undefined>
  content(owner: string, id: string): AsyncIterable<Uint8Array>
  /** Removes what there is of it, also when it was not kept. */
  remove(owner: string, id: string): Promise<void>
  /** Removes what arrived before this time and was never kept, such as when its process died. */
  removeAbandoned(owner: string, beforeMs: number): Promise<void>
}
