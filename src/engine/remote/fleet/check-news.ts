/** What the processes of one Dragoman tell each other of the servers of a model, so that each server is checked by one of them. */
export type CheckNews = {
  /** The server has passed a check of this process. */
  passed(url: string): void
  /** Hears of those that passed a check of another process, until the returned function is called. */
  listen(heard: (url: string) => void): () => void
}
