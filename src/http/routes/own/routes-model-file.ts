import type { FastifyInstance } from 'fastify'
import { given } from '../../../base/json.ts'
import { AppError } from '../../../contract/errors.ts'
import { readSource } from '../../../dialect/ollama/names.ts'
import { encodeEstimate, encodeModelFile } from '../../../dialect/own/encode-model-file.ts'
import { decodeDeleteFile, decodeEstimate, decodeModelFile } from '../../../dialect/own/queries.ts'
import { callerOf } from '../../access/caller.ts'
import { whenClosed } from '../../reply/when-closed.ts'
import type { Models } from '../../run/deps.ts'

/** The file of a model on this machine, the memory that a load takes, and deleting it. */
export function addModelFileRoutes(app: FastifyInstance, { models, modelFiles, lifecycle }: Models): void {
  const config = { scope: 'admin' } as const
  if (modelFiles !== undefined) {
    app.get('/api/model-file', { config }, async (request) => {
      const { model, context_length: contextLength, slots, gpu_layers: gpuLayers } = decodeModelFile(request.query)
      const { id } = await models.find(model, callerOf(request))
      const plan = await modelFiles.plan(id, {
        ...given({ contextLength, slots, gpuLayers }),
      })
      if (plan === undefined) throw new AppError('not-found', `model '${id}' has no file on this machine`)
      return encodeModelFile(id, plan)
    })
    app.get('/api/load-estimate', { config }, async (request, reply) => {
      const { model } = decodeEstimate(request.query)
      const left = new AbortController()
      whenClosed(reply.raw, () => left.abort())
      return encodeEstimate(model, await modelFiles.estimate(readSource(model), left.signal))
    })
  }
  if (lifecycle === undefined) return
  app.delete('/api/model-file', { config }, async (request) => {
    const principal = callerOf(request)
    const { id } = await models.find(decodeDeleteFile(request.query).model, principal)
    return { model: id, freed_bytes: await lifecycle.deleteFile(id, { endsRequests: false, principal }) }
  })
}
