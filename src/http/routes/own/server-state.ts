import type { ModelViewer } from '../../../contract/principal.ts'
import type { ModelSummary } from '../../../contract/server/catalogue.ts'
import { capabilitiesOf } from '../../../dialect/ollama/models.ts'
import { encodeServer, type ShownModel } from '../../../dialect/own/encode-server.ts'
import type { WireServer } from '../../../dialect/own/replies.ts'
import type { Models, Operating, Replying, Watching } from '../../run/deps.ts'
import { describeModel } from '../describe-model.ts'

/** The models that the caller may use, with what they do now. */
export async function describeServer(deps: Models & Watching & Operating & Replying, viewer: ModelViewer): Promise<WireServer> {
  const summaries = deps.models.list(viewer)
  const reports = new Map(deps.lifecycle?.models().map((report) => [report.id, report]))
  const describe = async (summary: ModelSummary): Promise<ShownModel> => {
    const { id, aliases, state, contextLength, servers, runsOn } = summary
    const { engine, scheduler, resident } = deps.models.get(id, viewer)
    const described = await describeModel(deps, summary, viewer)
    const { file } = described
    const report = reports.get(id)
    const shownContext = contextLength ?? file?.contextLength
    const trained = engine.facts.trainedContextLength ?? file?.trainedContextLength
    return {
      id,
      aliases,
      state,
      load: scheduler.load,
      abilities: capabilitiesOf(described),
      ...(shownContext !== undefined && { contextLength: shownContext }),
      ...(trained !== undefined && { trainedContextLength: trained }),
      ...(report?.engine !== undefined && { engine: report.engine }),
      ...(runsOn !== undefined && { runsOn }),
      ...(report?.isAdded === true && { isAdded: true }),
      ...(file?.quantization !== undefined && { quantization: file.quantization }),
      ...(file !== undefined && { fileBytes: file.sizeBytes }),
      ...(resident !== undefined && { resident: resident.status }),
      ...(servers !== undefined && { servers }),
    }
  }
  const names = new Set(summaries.map(({ id }) => id))
  const loads = deps.lifecycle?.loads() ?? []
  return encodeServer({
    version: deps.version,
    models: await Promise.all(summaries.map(describe)),
    loads: viewer.models === undefined ? loads : loads.filter(({ model }) => names.has(model)),
    memory: deps.memory?.(),
    devices: (await deps.devices?.()) ?? [],
    can: { load: deps.lifecycle !== undefined, replay: deps.captures !== undefined },
  })
}
