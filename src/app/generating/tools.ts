import { join } from 'node:path'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { SessionPictures, ToolBox, ToolSource } from '../../contract/server-tool.ts'
import type { McpToolsOptions } from '../../tools/mcp/mcp-tools.ts'
import { SandboxTools } from '../../tools/sandbox/sandbox-tools.ts'
import { SourceToolBox } from '../../tools/tool-box.ts'
import { createSessionHash } from '../keys/sealer.ts'
import { createMcpSource, createWebTools } from './tool-sources.ts'

type ConfiguredTools = {
  readonly tools: ToolBox
  /** Absent if no tool makes any. */
  readonly pictures?: SessionPictures
}

/** The tools that this server runs itself, as the configuration allows. */
export async function createConfiguredTools(
  config: Pick<LoadedConfig, 'tools' | 'media' | 'home'>,
  log: Logger,
  onLine: McpToolsOptions['onLine'] = (server, line) => log.debug({ server, line }, 'output of an MCP server'),
): Promise<ConfiguredTools> {
  const sandbox = await createSandboxTools(config)
  void sandbox?.list().then(({ absent }) => {
    for (const { name, why } of absent) log.warn({ tool: name, reason: why }, 'a tool that the configuration turns on is absent')
  })
  const { env } = process
  const all = [createWebTools(config, env), sandbox, createMcpSource(config, { env, log, onLine })]
  const sources: ToolSource[] = all.filter((source) => source !== undefined)
  return { tools: new SourceToolBox(sources, namesIn(config.tools)), ...(sandbox !== undefined && { pictures: sandbox }) }
}

/** Immediately tries whether programs can be isolated. Undefined if the configuration turns none on. */
export async function createSandboxTools({
  tools,
  home,
}: Pick<LoadedConfig, 'tools' | 'home'>): Promise<SandboxTools | undefined> {
  const { python, terminal, sessions } = tools
  if (python === undefined && terminal === undefined) return undefined
  // If the server is root, its home folder is closed to the user that programs run as.
  const folder = sessions.folder ?? (process.getuid?.() === 0 ? '/var/lib/dragoman/sandbox' : join(home, 'sandbox'))
  // Several servers can share one folder, and callers one name.
  const ofServer = (await createSessionHash({ home }))('folders of programs')
  return new SandboxTools({
    folder: join(folder, ofServer),
    idleMs: sessions.idleMs,
    ...(python !== undefined && { python }),
    ...(terminal !== undefined && { terminal }),
  })
}

/** The tools that the configuration turns on; undefined for none. */
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
