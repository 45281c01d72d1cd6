import type { CallToolResult, Tool, Transport } from '@modelcontextprotocol/client'
import { orAborted } from '../../base/time-limit.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { Guard } from '../../media/guarded-connect.ts'
import { CallScope, callScope, longestDelayMs, scheduleResumption, TooMuch } from './call-scope.ts'
import { ChildTransport, type Program } from './child-transport.ts'
import { explainFailure, mayHaveRun } from './failures.ts'
import { healResult, type Listing } from './heal-result.ts'
import { AnswerLost, SessionLost } from './lost.ts'
import { createMcpFetch } from './mcp-fetch.ts'
import { Client, SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport } from './protocol.ts'

/** How to reach a server. */
export type McpTarget =
  | ({ readonly type: 'program' } & Program)
  | {
      readonly type: 'url'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      /** Restricts the connection to public addresses; absent: the operator chose the address, so it may lead anywhere. */
      readonly guard?: Guard
    }

type ConnectOptions = {
  readonly timeoutMs: number
  /** Ends the attempt. */
  readonly signal: AbortSignal
  onToolsChanged(): void
  onEnd(): void
  /** Receives the lines that a program writes to its standard error. */
  onLine?: ((line: string) => void) | undefined
}

/** The tools of a server, and what was left out, in words that continue a sentence about it. */
export type ToolList = { readonly tools: readonly Tool[]; readonly left: readonly string[] }

/** A session with a server. Everything rejects with errors whose messages say what the server did. */
export type McpConnection = {
  listTools(timeoutMs: number): Promise<ToolList>
  /**
   * Calls a tool, without a time limit of its own. Rejects immediately when the signal fires; the server is notified, and the connections
   * of the call are closed. Rejects with `SessionLost` if the call has not begun, and with `AnswerLost` if it may have been carried out.
   */
  call(name: string, args: JsonObject, signal: AbortSignal): Promise<CallToolResult>
  close(): Promise<void>
}

type Channel = {
  readonly transport: Transport
  /** Whether to try newer revisions of the protocol first. */
  readonly negotiates: boolean
  close(): Promise<void>
  /** Why the connection ended, if known. */
  why(): string | undefined
}

export async function connect(target: McpTarget, options: ConnectOptions): Promise<McpConnection> {
  if (target.type === 'program') {
    const transport = new ChildTransport(target, options.onLine)
    const channel = { transport, negotiates: false, close: () => transport.close(), why: () => transport.end }
    return open(channel, options)
  }
  try {
    return await open(httpChannel(target, 'streamable'), options)
  } catch (error) {
    // A server of the older transport does not know the request.
    const status = error instanceof Error ? statusOf(error.cause) : undefined
    if (status !== 400 && status !== 404 && status !== 405) throw error
    return open(httpChannel(target, 'events'), options)
  }
}

function httpChannel({ url, headers, guard }: Extract<McpTarget, { type: 'url' }>, kind: 'streamable' | 'events'): Channel {
  let end: string | undefined
  let isClosed = false
  const onStreamEnd = (error: Error | undefined) => {
    // The stream is opened again.
    if (kind === 'streamable' && !(error instanceof TooMuch)) return
    end ??= error?.message ?? 'it ended the stream'
    void channel.close()
  }
  const { fetch, close } = createMcpFetch({ guard, resumes: kind === 'streamable', onStreamEnd })
  const options = { fetch, requestInit: { headers: { 'user-agent': 'dragoman', ...headers } } }
  const transport =
    kind === 'events'
      ? new SSEClientTransport(new URL(url), options)
      : new StreamableHTTPClientTransport(new URL(url), { ...options, ...resumption })
  const channel: Channel = {
    transport,
    negotiates: kind === 'streamable',
    why: () => end,
    async close() {
      // Closing the client reports an end, which closes it.
      if (isClosed) return
      isClosed = true
      await transport.close()
      await close()
    },
  }
  return channel
}

/** `scheduleResumption` decides when, and how often. */
const resumption = {
  reconnectionScheduler: scheduleResumption,
  reconnectionOptions: {
    maxRetries: Number.POSITIVE_INFINITY,
    initialReconnectionDelay: 1000,
    maxReconnectionDelay: 10_000,
    reconnectionDelayGrowFactor: 1.5,
  },
}

/** Validates nothing: results of tools are read as text. */
const noValidation = {
  getValidator: () => (input: unknown) => ({ valid: true as const, data: input as never, errorMessage: undefined }),
}

async function open(
  channel: Channel,
  { timeoutMs, signal: ofAttempt, onToolsChanged, onEnd }: ConnectOptions,
): Promise<McpConnection> {
  const { transport, negotiates, close, why } = channel
  const client = new Client(
    { name: 'dragoman', version: '1' },
    {
      capabilities: {},
      jsonSchemaValidator: noValidation,
      ...(negotiates && { versionNegotiation: { mode: 'auto' } }),
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
    },
  )
  const explained = (error: unknown) => new Error(explainFailure(error, why()), { cause: error })
  client.onerror = () => undefined
  let listing: Listing = { pages: 0, left: [] }
  // Runs before the client's own handler, which validates.
  transport.onmessage = (message) => {
    const call = callScope.getStore()
    if (call !== undefined && !('method' in message)) call.answers += 1
    healResult(message, listing, client.getProtocolEra() === 'modern')
  }
  try {
    await orAborted(withDeadline(client.connect(transport, { timeout: timeoutMs }), timeoutMs), ofAttempt)
  } catch (error) {
    // Taken before closing, which would become the reason.
    const failure = explained(error)
    await close()
    throw failure
  }
  client.onclose = () => {
    void close()
    onEnd()
  }
  return {
    async listTools(limitMs) {
      listing = { pages: 0, left: [] }
      if (client.getServerCapabilities()?.tools === undefined) return { tools: [], left: ['it says that it has no tools'] }
      try {
        const { tools } = await withDeadline(client.listTools(undefined, { timeout: limitMs, cacheMode: 'refresh' }), limitMs)
        return { tools, left: [...listing.left] }
      } catch (error) {
        throw explained(error)
      }
    },
    async call(name, args, signal) {
      const scope = new CallScope()
      const options = {
        signal: AbortSignal.any([signal, scope.lost]),
        timeout: longestDelayMs,
        onresumptiontoken: (id: string) => {
          scope.lastEventId = id
        },
      }
      try {
        return await callScope.run(scope, () => client.callTool({ name, arguments: args }, options))
      } catch (error) {
        // By the protocol, a 404 means an unknown session: the client cannot be used any more.
        if (statusOf(error) === 404) {
          void client.close()
          throw new SessionLost(explainFailure(error, why()), { cause: error })
        }
        if (scope.lost.aborted) throw new AnswerLost(explainFailure(scope.lost.reason, why()), { cause: scope.lost.reason })
        throw mayHaveRun(error) ? new AnswerLost(explainFailure(error, why()), { cause: error }) : explained(error)
      } finally {
        scope.stop()
      }
    },
    async close() {
      client.onclose = () => undefined
      await close()
    },
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof SdkHttpError ? error.status : undefined
}

function withDeadline<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`it did not answer within ${timeoutMs / 1000} s`))
    const timer = setTimeout(late, timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
