import type { FastifyRequest } from 'fastify'
import type { Dialect, ErrorReply } from '../contract/dialect.ts'
import type { Principal, Scope } from '../contract/principal.ts'
import type { RequestWatch } from '../contract/watch.ts'
import type { Sender } from './check-requests.ts'
import type { EncodeError } from './reply/error-reply.ts'
import type { GenerationFacts } from './reply/generation-facts.ts'
import type { EncodeLimits } from './reply/reply-headers.ts'
import type { Surface } from './routes/mounts.ts'

/** Our additions to Fastify's routes, requests and server. */
declare module 'fastify' {
  interface FastifyContextConfig {
    /** The permission that the route requires; `any`: a key of any scope. A route without it fails at start. */
    scope?: Scope | 'any'
    /** The protocol whose clients alone use the route, where that matters; a mount decides before it. */
    surface?: Surface
    /** The route's error envelope; default OpenAI's. */
    encodeError?: EncodeError
    /** As `encodeError`, for a route of several protocols. */
    encodeErrorOf?: (request: FastifyRequest) => EncodeError
    /** Programs poll or follow this route: only failures are logged at `info`, and a disconnect is not one. */
    isPolled?: boolean
    /** The route is served until the last reply has ended. */
    servesWhileDraining?: boolean
    /** The body may be `multipart/form-data`, which the handler reads while it arrives. */
    takesUploads?: boolean
    /** The body is JSON that the handler reads while it arrives. */
    readsBody?: boolean
    /** A body of any content type is read as JSON: this route's clients may be shell scripts. */
    takesAnyType?: boolean
    /** The route is served under any host name: probes of containers send that of a service. */
    servesAnyHost?: boolean
    /** An unreadable body counts as none. */
    isBodyLenient?: boolean
    /** The form of the headers about limits; default OpenAI's. */
    encodeLimits?: (request: FastifyRequest) => EncodeLimits
    /** The route only explains why it is not supported: it is not listed as served. */
    isRefusal?: boolean
  }
  interface FastifyRequest {
    /** The generation's reply id and model, for the request's last log line. */
    generation: GenerationFacts | undefined
    /** The protocol whose path the client wrote, of those that answer in their own way. */
    readonly surface: Surface | undefined
    /** The record of the request for those who watch the server. */
    watch: RequestWatch | undefined
    /** Its prompt stays in the slot that reads it; absent: as for any other. */
    pinsPrompt?: true
    /** The reply to a request of a protocol that is not served. */
    absentReply: ErrorReply | undefined
    /** Absent on public routes. */
    principal: Principal | undefined
    /** The sender of a request without a key, which waits behind those of callers. */
    sender: Sender | undefined
  }
  interface FastifyInstance {
    /** All protocols of this server. */
    readonly dialects: readonly Dialect[]
  }
}
