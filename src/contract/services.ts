import type { CallOrigin } from './call-origin.ts'
import type { CallerKeys } from './caller-keys.ts'

/** The services of servers besides language: OpenAI's routes for sound and pictures. */
export const serviceKinds = ['speech', 'transcription', 'translation', 'images'] as const
export type ServiceKind = (typeof serviceKinds)[number]

/** The routes of the services, below `/v1` here and at the servers. */
const serviceRoutes = {
  '/audio/speech': 'speech',
  '/audio/voices': 'speech',
  '/audio/transcriptions': 'transcription',
  '/audio/translations': 'translation',
  '/images/generations': 'images',
  '/images/edits': 'images',
  '/images/variations': 'images',
} as const satisfies Readonly<Record<string, ServiceKind>>
export type ServicePath = keyof typeof serviceRoutes

/** The service that a route is part of. */
export function serviceAt(path: ServicePath): ServiceKind {
  return serviceRoutes[path]
}

/** A part of a form, in order: a field, or a file. */
export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly filename: string; readonly mediaType: string; readonly bytes: Uint8Array }

/** A caller's body without its model: the engine adds the server's name for that. */
export type ServiceBody =
  | { readonly type: 'json'; readonly fields: Readonly<Record<string, unknown>> }
  /** The fields of a GET. */
  | { readonly type: 'query'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly type: 'form'; readonly parts: readonly FormPart[] }

export type ServiceCall = {
  readonly path: ServicePath
  readonly body: ServiceBody
  readonly callerKeys?: CallerKeys
  /** Set by core. */
  readonly origin?: CallOrigin
}

/** Where the reply goes, byte for byte. */
export type ServiceSink = {
  /** Called once, when the reply begins; after that no other reply can replace it. */
  begin(head: ServiceHead): void
  /** The next bytes; the server is paused while the promise is pending. */
  write(bytes: Uint8Array): Promise<void> | undefined
}

export type ServiceHead = { readonly contentType?: string; readonly contentLength?: number }

/** Requests that are passed on unchanged: no engine of this server can serve them. */
export interface Services {
  readonly kinds: ReadonlySet<ServiceKind>
  /** Call it while holding a slot of the model. When it settles, the whole reply was written, or the server was abandoned. */
  send(call: ServiceCall, sink: ServiceSink, signal: AbortSignal): Promise<void>
}
