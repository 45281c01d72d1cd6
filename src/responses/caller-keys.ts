import type { CallerKeys } from '../contract/caller-keys.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'

/** Keys sent with a call, beside its body. */
export type SentKeys = {
  readonly keys?: CallerKeys
  /** The caller's name for the place of the keys. */
  readonly place: string
  /** Other names in that place, which have no meaning here. */
  readonly ignored: readonly string[]
}

/** The call with the caller's keys, which also apply when its conversation is shortened. They are not stored. */
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
