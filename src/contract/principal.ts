/** What a route asks of its caller. `public` asks for nothing. */
export type Scope = 'public' | 'inference' | 'admin'

/** Who calls, and what it may do. */
export type Principal = { readonly id: string; readonly scopes: ReadonlySet<Scope> }
