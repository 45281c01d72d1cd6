import { join } from 'node:path'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import type { SessionPictures, ToolBox, ToolSource } from '../contract/server-tool.ts'
import type { McpToolsOptions } from '../tools/mcp/mcp-tools.ts'
import { SandboxTools } from '../tools/sandbox/sandbox-tools.ts'
import { SourceToolBox } from '../tools/tool-box.ts'
import { createMcpSource, createWebTools } from './tool-sources.ts'

export type ConfiguredTools = {
  readonly tools: ToolBox
  /** Absent where no tool makes any. */
  readonly pictures?: SessionPictures
}

/** The tools that this server runs itself, as the configuration allows. */
export function createConfiguredTools(
  config: Pick<LoadedConfig, 'tools' | 'media' | 'home'>,
  log: Logger,
  onLine: McpToolsOptions['onLine'] = (server, line) => log.debug({ server, line }, 'output of an MCP server'),
): ConfiguredTools {
  const sandbox = createSandboxTools(config)
  void sandbox?.list().then(({ absent }) => {
    for (const { name, why } of absent) log.warn({ tool: name, reason: why }, 'a tool that the configuration turns on is absent')
  })
  const { env } = process
  const all = [createWebTools(config, env), sandbox, createMcpSource(config, { env, log, onLine })]
  const sources: ToolSource[] = all.filter((source) => source !== undefined)
  return { tools: new SourceToolBox(sources, namesIn(config.tools)), ...(sandbox !== undefined && { pictures: sandbox }) }
}

/** Tries at once whether programs can be isolated. Undefined where the configuration turns none on. */
export function createSandboxTools({ tools, home }: Pick<LoadedConfig, 'tools' | 'home'>): SandboxTools | undefined {
  const { python, terminal, sessions } = tools
  if (python === undefined && terminal === undefined) return undefined
  // Where the server is root, its home folder is closed to the user that programs run as.
  const folder = process.getuid?.() === 0 ? '/var/lib/dragoman/sandbox' : join(home, 'sandbox')
  return new SandboxTools({
    folder,
    ...sessions,
    ...(python !== undefined && { python }),
    ...(terminal !== undefined && { terminal }),
  })
}

/** What the configuration turns on; undefined for nothing. */
function namesIn({
  python,
  terminal,
  webSearch,
  mcp,
  allowRequestServers,
}: LoadedConfig['tools']): readonly string[] | undefined {
  const own = Object.entries({ python, terminal, web_search: webSearch }).flatMap(([name, on]) =>
    on === undefined ? [] : [name],
  )
  const names = [...own, ...Object.keys(mcp)]
  return names.length === 0 && allowRequestServers.length === 0 ? undefined : names
}
