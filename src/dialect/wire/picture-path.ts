/** Where a caller finds a picture that a program of its session has made. */
export function picturePath(session: string, name: string): string {
  return `/api/inference/sandbox/${encodeURIComponent(session)}/${encodeURIComponent(name)}`
}
