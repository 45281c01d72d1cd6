/** A host as it appears in a URL: with brackets around an IPv6 address. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
