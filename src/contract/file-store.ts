/** A file that a caller uploaded. */
export type StoredFile = {
  readonly id: string
  readonly filename: string
  /** As declared by the upload; readers decide by the bytes. */
  readonly mediaType: string
  readonly sizeBytes: number
  /** OpenAI's purpose; Anthropic's files have none. */
  readonly purpose?: string
  readonly createdAtMs: number
  /** From then on, it does not exist. */
  readonly expiresAtMs?: number
}

/** The wishes of a caller for its file. */
export type FileWishes = Pick<StoredFile, 'purpose'> & { readonly lifetimeMs?: number }

type NewFile = Pick<StoredFile, 'filename' | 'mediaType'>

/** Stores the uploads of callers separately: another caller's file does not exist. */
export interface FileStore {
  /**
   * Stores a file once all bytes have arrived; otherwise nothing is kept. `wishes` is called at that time, and may reject. Rejects with
   * `body-too-large`, `request-conflict` when the caller's room is full, and the signal's reason.
   */
  add(
    owner: string,
    file: NewFile & {
      readonly bytes: AsyncIterable<Uint8Array>
      wishes(): Promise<FileWishes>
      /** The server made it: the caller's room does not limit it. */
      readonly isResult?: true
    },
    signal: AbortSignal,
  ): Promise<StoredFile>
  /** The newest first. */
  list(owner: string): Promise<readonly StoredFile[]>
  /** Rejects with `not-found`. */
  get(owner: string, id: string): Promise<StoredFile>
  content(owner: string, id: string): Promise<AsyncIterable<Uint8Array>>
  delete(owner: string, id: string): Promise<void>
}

/** Where the files of all callers are kept, without rules. Processes share it. */
export interface FilePlace {
  /** Writes the bytes of a new file, which does not exist until it is kept. */
  write(owner: string, id: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  keep(owner: string, file: StoredFile): Promise<void>
  list(owner: string): Promise<readonly StoredFile[]>
  get(owner: string, id: string): Promise<StoredFile | undefined>
  content(owner: string, id: string): AsyncIterable<Uint8Array>
  /** Removes a file, even an incomplete one. */
  remove(owner: string, id: string): Promise<void>
  /** Removes files that arrived before this time but were never kept, for example because their process died. */
  removeAbandoned(owner: string, beforeMs: number): Promise<void>
  /** Removes the files of all owners that have expired. */
  removeExpired(nowMs: number): Promise<void>
}
