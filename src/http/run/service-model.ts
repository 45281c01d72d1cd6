import { AppError } from '../../contract/errors.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { ServiceKind, Services } from '../../contract/services.ts'
import type { ServerDeps } from './deps.ts'

type ServiceModel = { readonly model: ServedModel; readonly services: Services }
type Wanted = { readonly kind: ServiceKind; readonly name: string | undefined; readonly viewer: ModelViewer }

/** The model for a request, and its services; without a name, the first that has the service. Throws where there is none. */
export function findServiceModel(
  deps: Pick<ServerDeps, 'models' | 'resolveModel'>,
  { kind, name, viewer }: Wanted,
): ServiceModel {
  if (name !== undefined) {
    const named = withService(deps.resolveModel(name, viewer), kind)
    if (named !== undefined) return named
  }
  const able = deps.models.list(viewer).flatMap(({ id }) => withService(deps.resolveModel(id, viewer), kind) ?? [])
  const [first] = able
  if (name === undefined && first !== undefined) return first
  const problem = name === undefined ? `no model here has the service '${kind}'` : `model '${name}' has no service '${kind}'`
  const names = able.map(({ model }) => `'${model.id}'`).join(', ')
  const advice =
    able.length === 0 ? 'configure a remote model whose `services` list it (docs/media.md)' : `choose another model: ${names}`
  throw new AppError('unsupported-field', `${problem}: ${advice}`, { at: ['model'] })
}

function withService(model: ServedModel, kind: ServiceKind): ServiceModel | undefined {
  const { services } = model.engine.capabilities
  return services?.kinds.has(kind) === true ? { model, services } : undefined
}
