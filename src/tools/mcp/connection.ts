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

/** Where a server is. */
export type McpTarget =
  | ({ readonly type: 'program' } & Program)
  | {
      readonly type: 'url'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      /** What it is connected to through; absent: its address is the operator's, and good wherever it leads. */
      readonly guard?: Guard
    }

export type ConnectOptions = {
  readonly timeoutMs: number
  /** Ends the attempt. */
  readonly signal: AbortSignal
  /** The server has other tools now. */
  onToolsChanged(): void
  /** The connection has ended. */
  onEnd(): void
  /** What a program writes to its standard error. */
  onLine?: ((line: string) => void) | undefined
}

/** The tools of a server, and what is left out, in words that continue a sentence about it. */
export type ToolList = { readonly tools: readonly Tool[]; readonly left: readonly string[] }

/** A session with a server. Everything rejects with errors whose messages say what the server did. */
export type McpConnection = {
  listTools(timeoutMs: number): Promise<ToolList>
  /**
   * Without a time limit of its own. Rejects at once when the signal fires; the server is told, and connections of the call are closed.
   * Rejects with `SessionLost` where the call has not begun, and with `AnswerLost` where it may have been carried out.
   */
  call(name: string, args: JsonObject, signal: AbortSignal): Promise<CallToolResult>
  close(): Promise<void>
}

type Channel = {
  readonly transport: Transport
  /** Whether it is asked for newer revisions of the protocol first. */
  readonly negotiates: boolean
  close(): Promise<void>
  /** Why it ended, where that is known. */
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
    // It is opened again.
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
      // Closing it says that it has ended, which closes it.
      if (isClosed) return
      isClosed = true
      await transport.close()
      await close()
    },
  }
  return channel
}

/** When, and how often, is decided by `scheduleResumption`. */
const resumption = {
  reconnectionScheduler: scheduleResumption,
  reconnectionOptions: {
    maxRetries: Number.POSITIVE_INFINITY,
    initialReconnectionDelay: 1000,
    maxReconnectionDelay: 10_000,
    reconnectionDelayGrowFactor: 1.5,
  },
}

/** Checks nothing: what a tool returns is read as text. */
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
  // Before the client's own, which validates.
  transport.onmessage = (message) => {
    const call = callScope.getStore()
    if (call !== undefined && !('method' in message)) call.answers += 1
    healResult(message, listing, client.getProtocolEra() === 'modern')
  }
  try {
    await orAborted(withDeadline(client.connect(transport, { timeout: timeoutMs }), timeoutMs), ofAttempt)
  } catch (error) {
    // Before it is closed, which would be the reason.
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
        // Of a session, so says the protocol; the client is of no use any more.
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
