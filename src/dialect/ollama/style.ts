import type { KeepLoaded } from '../../contract/dialect.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'

export type ReplyStyle = {
  /** As the caller wrote it. */
  readonly model: string
  /** `text`: an answer in `response`; `raw`: as `text`, with thinking as part of it. */
  readonly form: 'chat' | 'text' | 'raw'
  /** The caller asked for no tokens. */
  readonly isEmpty: boolean
  readonly thinks: boolean | string | undefined
}

export type DecodedOllama = {
  readonly request: GenerationRequest
  readonly isStreamed: boolean
  readonly style: ReplyStyle
  readonly keepLoaded: KeepLoaded | undefined
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}
