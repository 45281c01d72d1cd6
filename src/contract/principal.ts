/** The permission that a route requires; `public` requires none. */
export type Scope = 'public' | 'inference' | 'admin'

/** A caller and its permissions. */
export type Principal = { readonly id: string; readonly scopes: ReadonlySet<Scope> }
