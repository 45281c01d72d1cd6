import { never } from './tables.ts'

/** How long stored data is kept. */
export type Lifetimes = {
  /** Milliseconds of the epoch. */
  now(): number
  responseExpiry(createdAtMs: number): number
  /** The expiry of a conversation that changes now. */
  conversationExpiry(): number
}

/** Absent: for ever. */
export type LifetimeOptions = {
  readonly responseTtlMs?: number
  readonly conversationTtlMs?: number
  readonly now?: () => number
}

export function createLifetimes({ responseTtlMs, conversationTtlMs, now = Date.now }: LifetimeOptions): Lifetimes {
  return {
    now,
    responseExpiry: (createdAtMs) => (responseTtlMs === undefined ? never : createdAtMs + responseTtlMs),
    conversationExpiry: () => (conversationTtlMs === undefined ? never : now() + conversationTtlMs),
  }
}
