import type { EngineFacts } from '../../contract/engine.ts'
import type { Replicas } from './fleet/replicas.ts'

/** The facts of the model as a whole: the best of its replicas. */
export function factsOf(
  replicas: Pick<Replicas, 'upstreams' | 'discovery'> | undefined,
  configuredLength: number | undefined,
): EngineFacts {
  const upstreams = replicas?.upstreams ?? []
  const lengths = upstreams.flatMap(({ contextLength }) => contextLength ?? [])
  const contextLength = configuredLength ?? (lengths.length === 0 ? undefined : Math.max(...lengths))
  const slots = upstreams.flatMap((upstream) => upstream.slots ?? [])
  const media = upstreams.flatMap(({ modalities }) => modalities ?? [])
  const chatTemplate = replicas?.discovery?.chatTemplate
  return {
    ...(contextLength !== undefined && { contextLength }),
    ...(slots.length > 0 && slots.length === upstreams.length && { serverSlots: slots.reduce((sum, count) => sum + count, 0) }),
    ...(upstreams.length > 0 && upstreams.every(({ profile }) => profile.separateSlots) && { hasSeparateSlots: true as const }),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(media.length > 0 && {
      modalities: {
        image: media.some(({ image }) => image),
        audio: media.some(({ audio }) => audio),
        video: media.some(({ video }) => video === true),
      },
    }),
  }
}
