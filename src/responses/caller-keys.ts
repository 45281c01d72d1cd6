import type { CallerKeys } from '../contract/caller-keys.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'

/** Keys that came with a call, beside its body. */
export type SentKeys = {
  readonly keys?: CallerKeys
  /** The caller's name for where they were. */
  readonly place: string
  /** What else was there, which means nothing here. */
  readonly ignored: readonly string[]
}

/** The same call with the caller's keys, also when its conversation is shortened. They are not part of what is stored. */
export function withCallerKeys(decoded: DecodedResponse, sent: SentKeys | undefined): DecodedResponse {
  if (sent === undefined) return decoded
  const { keys, place, ignored } = sent
  return {
    ...decoded,
    ...(keys !== undefined && { request: { ...decoded.request, callerKeys: keys } }),
    ignored: [...decoded.ignored, ...ignored],
    nameOf: (path) => (path[0] === 'callerKeys' ? place : decoded.nameOf(path)),
    withoutOldest(count) {
      const shorter = decoded.withoutOldest(count)
      return shorter === undefined ? undefined : { ...shorter, decoded: withCallerKeys(shorter.decoded, sent) }
    },
    compacted(compaction) {
      const shorter = decoded.compacted(compaction)
      return shorter === undefined ? undefined : withCallerKeys(shorter, sent)
    },
  }
}
