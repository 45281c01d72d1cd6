import type { LoadedConfig } from '../config/load.ts'
import type { ToolBox, ToolSource } from '../contract/server-tool.ts'
import { SourceToolBox } from '../tools/tool-box.ts'

/** The tools that this server runs itself, as the configuration allows. */
export function createConfiguredTools(_config: Pick<LoadedConfig, 'tools' | 'home'>): ToolBox {
  const sources: ToolSource[] = []
  return new SourceToolBox(sources)
}
