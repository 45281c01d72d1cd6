/** Addresses of the server are relative to the page: a proxy may serve both below a prefix. */
export function urlOf(path: string): string {
  return new URL(path, new URL('.', document.baseURI)).href
}

/** The base URL for programs. */
export function apiBase(): string {
  return urlOf('v1')
}
