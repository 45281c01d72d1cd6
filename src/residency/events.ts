/** The kind of claim on a model: a request, a command that loads it, or the start of the server, which unloads nothing for it. */
export type ClaimKind = 'request' | 'load' | 'preload'

/**
 * What happens to the models and their claims. A claim is identified by an object of the caller's, and a model by a key: one of two models
 * with the same id replaces the other.
 */
export type ResidencyEvent<Claim extends object> =
  | { readonly type: 'claim'; readonly key: string; readonly claim: Claim; readonly kind: ClaimKind }
  /** The claim no longer waits for the model, or no longer uses it. */
  | { readonly type: 'end'; readonly key: string; readonly claim: Claim }
  /** The model's process is about to start, and needs this much. */
  | { readonly type: 'reserve'; readonly key: string; readonly bytes: number }
  | { readonly type: 'ready'; readonly key: string }
  /** The model's process has ended for good. */
  | { readonly type: 'freed'; readonly key: string }
  | { readonly type: 'load-failed'; readonly key: string; readonly attempt: number; readonly error: unknown }
  | { readonly type: 'cancel-load'; readonly key: string }
  /** Grants no claims until the model is unloaded, which happens once no request uses it. */
  | { readonly type: 'close'; readonly key: string }
  | { readonly type: 'reopen'; readonly key: string }
  /** Unloads the model even if it is in use. */
  | { readonly type: 'evict'; readonly key: string }
  /** Until it is unloaded, the model may be idle for this long. */
  | { readonly type: 'keep'; readonly key: string; readonly idleMs: number }
  /** Time has passed. */
  | { readonly type: 'tick' }

/**
 * Why a model is unloaded: for the memory of another one, after being idle, by a command, or because no request waits for its load any
 * more.
 */
export type UnloadReason = 'memory' | 'idle' | 'command' | 'unwanted'

export type ResidencyEffect<Claim extends object> =
  | { readonly type: 'load'; readonly key: string; readonly attempt: number }
  /** The model's process may start. */
  | { readonly type: 'admit'; readonly key: string }
  /** The model's process may not start: it needs more than the whole budget. */
  | { readonly type: 'reject'; readonly key: string }
  | { readonly type: 'unload'; readonly key: string; readonly reason: UnloadReason }
  | { readonly type: 'grant'; readonly claim: Claim }
  | { readonly type: 'refuse'; readonly claim: Claim; readonly error: unknown }
  /** A preload without free memory. */
  | { readonly type: 'defer'; readonly claim: Claim }
