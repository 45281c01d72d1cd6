import type { WireKeys, WireRequest, WireUsage } from '../../../src/dialect/own/replies.ts'

/** The messages of the event stream and the routes beside it, as the server's encoders are typed. */
export type {
  LoadSample,
  LogLine,
  WireDevice as Device,
  WireKey as ListedKey,
  WireLoad as Load,
  WireModel as Model,
  WireReplica as Replica,
  WireRequest as WatchedRequest,
  WireServer as ServerState,
} from '../../../src/dialect/own/replies.ts'

export type KeyList = WireKeys
/** The usage of keys since the first of the month. */
export type KeyUsage = Pick<WireUsage, 'usage'>
export type Attempt = NonNullable<WireRequest['attempts']>[number]
