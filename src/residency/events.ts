/** Who waits for a model: a request, a command that loads it, or the start of the server, which unloads nothing for it. */
export type ClaimKind = 'request' | 'load' | 'preload'

/**
 * What happens to the models and to those who want them. A claim is named by an object of the caller's, and a model by a key: of two models
 * with the same id, one replaces the other.
 */
export type ResidencyEvent<Claim extends object> =
  | { readonly type: 'claim'; readonly key: string; readonly claim: Claim; readonly kind: ClaimKind }
  /** It no longer waits for the model, or no longer uses it. */
  | { readonly type: 'end'; readonly key: string; readonly claim: Claim }
  /** The model's process is about to start, and needs this much. */
  | { readonly type: 'reserve'; readonly key: string; readonly bytes: number }
  | { readonly type: 'ready'; readonly key: string }
  /** Its process has ended for good. */
  | { readonly type: 'freed'; readonly key: string }
  | { readonly type: 'load-failed'; readonly key: string; readonly attempt: number; readonly error: unknown }
  | { readonly type: 'cancel-load'; readonly key: string }
  /** No claims are granted until it is unloaded, which it is when no request uses it. */
  | { readonly type: 'close'; readonly key: string }
  | { readonly type: 'reopen'; readonly key: string }
  /** Unload it, even if it is in use. */
  | { readonly type: 'evict'; readonly key: string }
  /** It is unloaded after being idle for so long, until it is. */
  | { readonly type: 'keep'; readonly key: string; readonly idleMs: number }
  /** Time has passed. */
  | { readonly type: 'tick' }

/** Why a model is unloaded: for the memory of another one, after being idle, by a command, or because no request waits for its load any more. */
export type UnloadReason = 'memory' | 'idle' | 'command' | 'unwanted'

export type ResidencyEffect<Claim extends object> =
  | { readonly type: 'load'; readonly key: string; readonly attempt: number }
  /** Its process may start. */
  | { readonly type: 'admit'; readonly key: string }
  /** Its process may not start: it needs more than there is in all. */
  | { readonly type: 'reject'; readonly key: string }
  | { readonly type: 'unload'; readonly key: string; readonly reason: UnloadReason }
  | { readonly type: 'grant'; readonly claim: Claim }
  | { readonly type: 'refuse'; readonly claim: Claim; readonly error: unknown }
  /** A preload for which there is no free memory. */
  | { readonly type: 'defer'; readonly claim: Claim }
