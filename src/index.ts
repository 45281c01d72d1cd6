// The public door of the package: the exports for applications. Everything else may change without notice.
export {
  createDragoman,
  type Dragoman,
  type DragomanOptions,
  type InProcessGeneration,
} from './app/create-dragoman.ts'
export type { OwnModel } from './app/models/create-model.ts'
export { callsOf, reasoningOf, refusalOf, textOf } from './canonical/parts.ts'
export type { ConfigInput } from './config/load.ts'
export type { CallInput, DecodeContext, DecodedCall, Dialect, ErrorReply, StreamEncoder } from './contract/dialect.ts'
export type * from './contract/engine.ts'
export { AppError, type ErrorCode } from './contract/errors.ts'
export type * from './contract/event.ts'
export { type CanonicalPath, field, type NameOf } from './contract/field.ts'
export type * from './contract/request.ts'
export { plainChat, plainRequest } from './contract/request.ts'
export type { Choice, GenerationResult } from './contract/result.ts'
export type * from './contract/sampling.ts'
export type { ChatInput, GenerateInput } from './dialect/library/decode.ts'
