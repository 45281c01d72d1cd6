import type { JsonObject } from './request.ts'

/** A tool that the server runs itself, in place of its caller. */
export type ServerTool = {
  /** What models call it; a tool of an MCP server is `SERVER__NAME`. */
  readonly name: string
  readonly kind: 'web-search' | 'python' | 'terminal' | 'mcp'
  readonly description: string
  /** A JSON Schema of its arguments. */
  readonly parameters: JsonObject
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
  readonly session: { readonly principalId: string; readonly id: string }
  /** Aborted when the caller leaves or cancels, and when the time of the call is over. */
  readonly signal: AbortSignal
}

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
  /** Names of pictures in the session's folder that are new or changed. */
  readonly pictures?: readonly string[]
}
