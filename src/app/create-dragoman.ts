import { randomUUID } from 'node:crypto'
import { type ConfigInput, configFromObject } from '../config/load.ts'
import { ownFolders } from '../config/own-folders.ts'
import type { Dialect } from '../contract/dialect.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import { foldEvents, type GenerationResult } from '../contract/result.ts'
import type { ModelSummary } from '../contract/server/catalogue.ts'
import { decodeInput, type GenerateInput } from '../dialect/library/decode.ts'
import { createApp } from './create-app.ts'
import { iterateEvents } from './iterate-events.ts'
import { createLog, type LogOptions } from './log/log.ts'
import type { OwnModel } from './models/create-model.ts'
import type { NodeHandler } from './serving/node-handler.ts'

/** A configuration, your own parts, or both. */
export type DragomanOptions = {
  /** As in `dragoman.yaml` (docs/configuration.md); relative paths start at the working directory. */
  readonly config?: ConfigInput
  /** Models on your own engines. With any of them, there is no default model. */
  readonly models?: readonly OwnModel[]
  /** Your own protocols, each with its path. */
  readonly dialects?: readonly { readonly path: string; readonly dialect: Dialect }[]
  /**
   * Fetches model files, by URL scheme: `{ s3: fetchFromS3 }` is called for each source `s3:…`, once, before anything is served.
   * Resolves with the path of the local file.
   */
  readonly sources?: Readonly<Record<string, (source: string) => Promise<string>>>
  /** The path of your program below which `fetch` and `handler` find the routes: with `/api`, the first is `/api/v1/chat/completions`. Default: none. */
  readonly basePath?: string
  /** The level of the log, one JSON object per line on standard error; default `silent`. */
  readonly logLevel?: LogOptions['level']
}

/** A generation in process, which runs once: iterate over its events or await its result. */
export type InProcessGeneration = AsyncIterable<GenerationEvent> & { result(): Promise<GenerationResult> }

export interface Dragoman extends AsyncDisposable {
  readonly models: readonly ModelSummary[]
  /** Loads the models that load at start. Resolves when they are ready; rejects with the first failure. */
  ready(): Promise<void>
  /** Accepts connections at the configured address. Resolves with the URL. */
  listen(): Promise<string>
  /**
   * Answers a request without a socket, including streams; aborting the request's signal disconnects the client. Any host name will do:
   * your program has accepted the request.
   *
   * @example
   * export const POST = (request: Request) => dragoman.fetch(request)
   */
  fetch(request: Request): Promise<Response>
  /**
   * Answers a request of your own server of Node.js, such as Express (`app.use(dragoman.handler)`), before its body is read. `next` gets
   * requests for paths that are not below `basePath`; without it, they get a 404.
   *
   * @example
   * createServer(dragoman.handler).listen(3000)
   */
  readonly handler: NodeHandler
  /**
   * Generates in process. Fails with an `AppError`; aborting the signal, with code `cancelled` and the signal's reason as `cause`. Throws
   * `invalid-request` for a wrong input, `model-not-found`, and `shutting-down` after `close`.
   *
   * @example
   * for await (const event of dragoman.generate({ model: 'default', prompt: 'Once upon a time' })) {
   *   if (event.type === 'text-delta') process.stdout.write(event.delta)
   * }
   */
  generate(input: GenerateInput, options?: { readonly signal?: AbortSignal }): InProcessGeneration
  /**
   * Finishes running requests and generations within `server.shutdownGraceMs`, then closes everything. Idempotent; `await using` calls it,
   * signals of the process do not.
   */
  close(): Promise<void>
}

/**
 * A server for language models, in this process. Nothing is loaded and nothing listens yet. Throws `invalid-request` for a wrong
 * configuration or `basePath`.
 *
 * @example
 * const dragoman = await createDragoman({ config: { models: [{ id: 'mine', source: './mine.gguf' }] } })
 * const result = await dragoman.generate({ model: 'mine', prompt: 'Once upon a time' }).result()
 */
export async function createDragoman(options: DragomanOptions = {}): Promise<Dragoman> {
  const { models = [], dialects = [], sources = {}, basePath = '', logLevel = 'silent' } = options
  checkBasePath(basePath)
  const raw = await fetchOwnSources(options.config ?? {}, sources)
  const { base: cwd, userHome } = ownFolders()
  const config = configFromObject(raw, {
    env: process.env,
    cwd,
    userHome,
    needsModel: models.length === 0,
  })
  const log = createLog({ level: logLevel })
  const app = await createApp(config, { log, parts: { models, dialects } })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= app.close()
    return closing
  }
  // With or without a final slash.
  const base = basePath.replace(/\/$/, '')
  return {
    get models() {
      return app.models
    },
    async ready() {
      app.load()
      await app.whenReady()
    },
    listen: app.listen,
    fetch: (request) => app.fetch(request, base),
    handler: app.handlerBelow(base),
    generate: (input, { signal } = {}) => {
      const generation = app.generate([decodeInput(input, `gen-${randomUUID()}`)], signal)
      return {
        [Symbol.asyncIterator]: () => iterateEvents(generation),
        result: () => foldEvents(generation),
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function checkBasePath(basePath: string): void {
  if (basePath === '' || /^\/[^?#]*$/.test(basePath)) return
  throw new AppError('invalid-request', `the basePath '${basePath}' is not the beginning of a path: write it as '/api'`)
}

/** Replaces the sources with custom schemes by local paths. */
async function fetchOwnSources(config: ConfigInput, sources: NonNullable<DragomanOptions['sources']>): Promise<ConfigInput> {
  const find = async (source: unknown): Promise<unknown> => {
    if (Array.isArray(source)) return Promise.all(source.map(find))
    const scheme = typeof source === 'string' ? /^([a-z][\w+.-]+):/i.exec(source)?.[1] : undefined
    const fetchIt = scheme === undefined || !Object.hasOwn(sources, scheme) ? undefined : sources[scheme]
    if (fetchIt === undefined) return source
    try {
      return await fetchIt(source as string)
    } catch (error) {
      throw new AppError('model-unavailable', `the source '${String(source)}' cannot be fetched: ${String(error)}`, {
        cause: error,
      })
    }
  }
  const models = await Promise.all(
    (config.models ?? []).map(async (model) => ('source' in model ? { ...model, source: await find(model.source) } : model)),
  )
  return (config.models === undefined ? config : { ...config, models }) as ConfigInput
}
