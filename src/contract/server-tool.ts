import type { Principal } from './principal.ts'
import type { JsonObject, McpServerUse, WebTerms } from './request.ts'

export type ServerToolKind = 'web-search' | 'python' | 'terminal' | 'mcp'

/** A tool that the server runs itself, in place of its caller. */
export type ServerTool = {
  /** The models' name for it; a tool of an MCP server is `SERVER__NAME`. */
  readonly name: string
  readonly kind: ServerToolKind
  /** For a tool of an MCP server: the server's label, and the tool's name there. */
  readonly mcp?: { readonly server: string; readonly name: string }
  readonly description: string
  /** A JSON Schema of its arguments. */
  readonly parameters: JsonObject
  /** The parameter that takes a text that is not JSON. */
  readonly textParameter?: string
  /** The caller has to approve each call. */
  readonly needsApproval?: true
  /** Its calls wait for each other: a call's time counts from `onBegin`, and the tool bounds the wait. */
  readonly takesTurns?: true
  /**
   * Resolves with text for the model, also for failures; rejects only for defects. Ends within 0.2 s of its signal, with all processes and
   * connections that it began.
   */
  run(call: ToolRun): Promise<ToolOutcome>
}

export type ToolRun = {
  readonly arguments: JsonObject
  /** Calls of one key and session share a folder of files. */
  readonly session: ToolSession
  readonly web?: WebTerms
  /** Aborted when the caller leaves or cancels, and when the call's time is over. */
  readonly signal: AbortSignal
  /** Called by a tool that takes turns, when the call's turn begins. */
  readonly onBegin?: () => void
}

export type ToolSession = { readonly principalId: string; readonly id: string }

/** The result of an execution. */
export type ToolOutcome = {
  /** For the model and the caller: untrusted, and bounded by the tool. */
  readonly text: string
  readonly isError: boolean
  /** A sentence for the model only: what to do after a failure. */
  readonly advice?: string
  /** Pages that were found or read, in order. */
  readonly sources?: readonly { readonly url: string; readonly title: string; readonly snippet?: string }[]
  /** For a program. */
  readonly exitCode?: number
  /** The output of a program on both streams, and the server's remark about its end besides the exit code; `text` contains both. */
  readonly printed?: string
  readonly remark?: string
  /** Pictures for a model that sees, which `text` only mentions. */
  readonly images?: readonly { readonly base64: string; readonly mediaType: string }[]
  /** Names of new or changed pictures in the session's folder. */
  readonly pictures?: readonly string[]
}

/** An unusable tool or MCP server, and a sentence about why and what to do. */
export type AbsentTool = { readonly name: string; readonly why: string }

export type ToolListing = {
  readonly tools: readonly ServerTool[]
  readonly absent: readonly AbsentTool[]
  /** Names of MCP servers that were not asked because the wish does not name them. */
  readonly others?: readonly string[]
  /** Hosts, including subdomains, where a request of the caller may name MCP servers of its own. */
  readonly hostsForRequests?: readonly string[]
  /** Ends what was begun for this wish alone; call it when its tools are no longer used. The wish's signal has the same effect. */
  end?(): Promise<void>
}

/** The tools that a request wants, and for whom. */
export type ToolWish = {
  readonly principal: Principal
  /** Names of tools, or of MCP servers for all of theirs; absent: all tools, of MCP servers those that answer soon. */
  readonly names?: readonly string[] | undefined
  /** Besides `names`. */
  readonly mcpServers: readonly McpServerUse[]
  readonly signal: AbortSignal
}

/** A source of tools: one kind of them, or MCP servers. */
export interface ToolSource {
  /**
   * Lists the tools available now. Configured tools that cannot run here are absent, as are MCP servers that do not answer. Rejects with
   * `invalid-request` for a server of the wish that is not allowed.
   */
  list(wish: ToolWish): ToolListing | Promise<ToolListing>
  /** Ends everything that it started. */
  close(): Promise<void>
}

/** The tools of this server. */
export interface ToolBox {
  /** The tools that the caller may use, and the unusable ones. Each name occurs once. */
  list(wish: ToolWish): Promise<ToolListing>
  /**
   * Names of the configured tools and MCP servers that the caller may use, whether or not they can run now; undefined for a caller that may
   * use none.
   */
  namesFor(principal: Principal): ReadonlySet<string> | undefined
  close(): Promise<void>
}

/** A file that a program made, for its caller. */
export type SessionPicture = { readonly mediaType: string; readonly bytes: Uint8Array }

/** The pictures that programs of sessions have made. */
export interface SessionPictures {
  /** Rejects with `not-found`, and with `forbidden` for a file that is not a picture. */
  picture(session: ToolSession, name: string): Promise<SessionPicture>
}
