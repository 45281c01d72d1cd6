/** A host as URLs write it: IPv6 addresses in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
