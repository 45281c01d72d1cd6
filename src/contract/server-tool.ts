import type { Principal } from './principal.ts'
import type { JsonObject, McpServerUse, WebTerms } from './request.ts'

export type ServerToolKind = 'web-search' | 'python' | 'terminal' | 'mcp'

/** A tool that the server runs itself, in place of its caller. */
export type ServerTool = {
  /** What models call it; a tool of an MCP server is `SERVER__NAME`. */
  readonly name: string
  readonly kind: ServerToolKind
  /** Of a tool of an MCP server: the server's label, and the tool's name there. */
  readonly mcp?: { readonly server: string; readonly name: string }
  readonly description: string
  /** A JSON Schema of its arguments. */
  readonly parameters: JsonObject
  /** The parameter that a text that is not JSON becomes. */
  readonly textParameter?: string
  /** The caller has to approve each call. */
  readonly needsApproval?: true
  /** Its calls wait for each other: the time of one counts from `onBegin`, and the tool bounds how long it waits. */
  readonly takesTurns?: true
  /**
   * Resolves with what the model reads, failures included; rejects only for defects. It ends within 0.2 s of its signal, with all
   * processes and connections that it began.
   */
  run(call: ToolRun): Promise<ToolOutcome>
}

/** One execution of a tool. */
export type ToolRun = {
  readonly arguments: JsonObject
  /** Calls of one key and session share a folder of files. */
  readonly session: ToolSession
  readonly web?: WebTerms
  /** Aborted when the caller leaves or cancels, and when the time of the call is over. */
  readonly signal: AbortSignal
  /** Called by a tool that takes turns, when the call has its turn. */
  readonly onBegin?: () => void
}

export type ToolSession = { readonly principalId: string; readonly id: string }

/** What an execution brought. */
export type ToolOutcome = {
  /** For the model and the caller: untrusted, and capped by the tool. */
  readonly text: string
  readonly isError: boolean
  /** A sentence for the model only: what to do after a failure. */
  readonly advice?: string
  /** Pages that were found or read, in order. */
  readonly sources?: readonly { readonly url: string; readonly title: string; readonly snippet?: string }[]
  /** Of a program. */
  readonly exitCode?: number
  /** What a program printed, on both of its streams, and what the server says of its end besides the exit code: both are in `text`. */
  readonly printed?: string
  readonly remark?: string
  /** Pictures for a model that sees, which `text` only mentions. */
  readonly images?: readonly { readonly base64: string; readonly mediaType: string }[]
  /** Names of pictures in the session's folder that are new or changed. */
  readonly pictures?: readonly string[]
}

/** A tool, or an MCP server, that cannot be used, and a sentence that says why and what to do. */
export type AbsentTool = { readonly name: string; readonly why: string }

/** An MCP server that was asked for its tools. */
export type McpServerListing = {
  readonly label: string
  readonly tools: readonly ServerTool[]
  /** Why there are none. */
  readonly error?: string
}

/** What a source has. */
export type ToolListing = {
  readonly tools: readonly ServerTool[]
  readonly absent: readonly AbsentTool[]
  /** Names of MCP servers that were not asked, because the wish does not name them. */
  readonly others?: readonly string[]
  /** Ends what was begun for the wish alone; to be called when its tools are not used any more. It also ends with the wish's signal. */
  end?(): Promise<void>
}

/** What a request wants, and who asks. */
export type ToolWish = {
  readonly principal: Principal
  /** Names of tools, or of MCP servers for all of theirs; absent: all, of MCP servers those that answer soon. */
  readonly names?: readonly string[] | undefined
  /** Besides `names`. */
  readonly mcpServers: readonly McpServerUse[]
  readonly signal: AbortSignal
}

/** Where tools come from: one kind of them, or MCP servers. */
export interface ToolSource {
  /**
   * What it has now. Tools that the configuration turns on and that cannot run here are absent, as are MCP servers that do not answer.
   * Rejects with `invalid-request` for a server of the wish that is not allowed.
   */
  list(wish: ToolWish): ToolListing | Promise<ToolListing>
  /** Ends all that it started. */
  close(): Promise<void>
}

/** The tools of this server. */
export interface ToolBox {
  /** What the caller may use, and what it may not. Each name is there once. */
  list(wish: ToolWish): Promise<ToolListing>
  /**
   * Names of the tools and MCP servers of the configuration that the caller may use, whether they can run now or not; undefined for one
   * who may use none.
   */
  namesFor(principal: Principal): ReadonlySet<string> | undefined
  close(): Promise<void>
}

/** A file that a program made, for its caller. */
export type SessionPicture = { readonly mediaType: string; readonly bytes: Uint8Array }

/** The pictures that programs of sessions have made. */
export interface SessionPictures {
  /** Rejects with `not-found`, and with `forbidden` for what is not a picture. */
  picture(session: ToolSession, name: string): Promise<SessionPicture>
}
