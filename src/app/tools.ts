import type { LoadedConfig } from '../config/load.ts'
import type { ToolBox, ToolSource } from '../contract/server-tool.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

/** The tools that this server runs itself, as the configuration allows. */
export function createConfiguredTools(config: Pick<LoadedConfig, 'tools' | 'home'>): ToolBox {
  const sources: ToolSource[] = []
  return new SourceToolBox(sources, namesIn(config.tools))
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
