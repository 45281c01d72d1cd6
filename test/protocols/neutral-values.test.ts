import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GenerationRequest, Prompt } from '../../src/contract/request.ts'
import { spellings } from '../../src/dialect/wire/field-table.ts'
import { type ProfileName, type Protocol, profileNames, protocolNames } from '../../src/engine/remote/servers/profile.ts'
import { profileIn } from '../../src/engine/remote/servers/protocols.ts'
import { requestBody } from '../../src/engine/remote/wire/body/request-body.ts'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { type RunningApp, startApp } from '../support/http/app.ts'
import { droppingUpstream } from '../support/upstream/dropping-upstream.ts'
import { type ScriptedUpstream, startUpstream } from '../support/upstream/upstream.ts'
import { clientBodies } from './neutral/client-bodies.ts'
import { type Front, fronts } from './neutral/fronts.ts'
import { meaningful, type NeutralValue, neutralValues } from './neutral/values.ts'

/** Each kind of server in each protocol. */
const ways = profileNames.flatMap((kind) => protocolNames.map((protocol) => ({ kind, protocol })))

/** The fields of a protocol with their neutral values; those of refused ones are in the protocol's own table. */
function neutralFields({ fields, own }: Front) {
  const known = new Set(fields.flatMap(spellings))
  return fields.flatMap((field) => {
    const accepted = field.treatment === 'refused' ? (field.accepts ?? []).map((value): NeutralValue => ({ value })) : undefined
    const ours = own?.[field.name] ?? neutralValues[field.name] ?? []
    const given = accepted ?? ours.filter(({ beside = {} }) => Object.keys(beside).every((name) => known.has(name)))
    return given.length === 0 ? [] : [{ field, given }]
  })
}

/** Undefined: the server has no prompts of this type. */
function sentTo(request: GenerationRequest, { kind, protocol }: { kind: ProfileName; protocol: Protocol }) {
  const profile = profileIn(kind, protocol)
  const prompt: Prompt = protocol === 'completions' ? { type: 'text', text: 'hi' } : request.prompt
  const takesTexts = protocol === 'chat' || protocol === 'completions'
  if ((prompt.type !== 'chat' && !takesTexts) || (prompt.type === 'infill' && !profile.suffix)) return undefined
  const grammars = { compile: () => expect.unreachable('there is no constraint') }
  return requestBody({ ...request, prompt }, { profile, model: 'up' }, grammars)
}

describe.each(fronts)('$path', (front) => {
  test('each of its fields has a neutral value, unless it is only sent where it means something', () => {
    const used = front.fields.filter(({ treatment }) => treatment === 'used').map(({ name }) => name)
    const isKnown = (name: string) => (front.own?.[name] ?? neutralValues[name]) !== undefined || meaningful.has(name)
    expect(used.filter((name) => !isKnown(name))).toEqual([])
  })

  test('a value that changes nothing is refused by no kind of server', async () => {
    const refusals: string[] = []
    for (const { field, given } of neutralFields(front)) {
      for (const name of spellings(field)) {
        for (const { value, beside } of given) {
          const fields = { ...beside, [name]: value }
          const said = JSON.stringify(fields)
          try {
            const request = front.decode(front.body({ model: 'm', ...fields }))
            for (const way of ways) {
              try {
                await sentTo(request, way)
              } catch (error) {
                refusals.push(`${said} by ${way.kind} in ${way.protocol}: ${error}`)
              }
            }
          } catch (error) {
            refusals.push(`${said}: ${error}`)
          }
        }
      }
    }
    expect(refusals).toEqual([])
  })
})

describe('over HTTP', () => {
  const { answer } = droppingUpstream({ conforming: '', prose: 'ok' })
  let folder: string
  let upstream: ScriptedUpstream
  let app: RunningApp

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dragoman-neutral-'))
    const chatTemplate = join(folder, 'template.jinja')
    await writeFile(chatTemplate, '{% for m in messages %}{{ m.content }}{% endfor %}')
    upstream = await startUpstream(answer)
    const models = ways.map(({ kind, protocol }) => ({
      id: `${kind}-${protocol}`,
      engine: 'remote' as const,
      endpoints: [{ url: upstream.url }],
      upstreamModel: 'up',
      probe: false,
      server: kind,
      protocol,
      ...(protocol === 'completions' && { chatTemplate }),
    }))
    const tiny = { id: 'llama', engine: 'llama', source: builtinModel.path, threads: 1, slots: 1, contextLength: 256 } as const
    app = await startApp({ models: [...models, tiny, { id: 'fake', engine: 'fake', script: 'from-request' }] })
  })

  afterAll(async () => {
    await app.close()
    await upstream.close()
    await rm(folder, { recursive: true })
  })

  async function post(path: string, body: object) {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, text: await response.text() }
  }

  /** Fields of which each has its first neutral value, all in one body. */
  const together = (front: Front) =>
    Object.assign(
      {},
      ...neutralFields(front).map(({ field, given: [first] }) => ({ ...first?.beside, [field.name]: first?.value })),
    )

  /** Those that have prompts as this route makes them. */
  function modelsFor(path: string): readonly string[] {
    const isChat = /chat|messages|responses|inference\/generate/.test(path)
    const isInfill = path === '/infill'
    const remote = ways.filter(({ kind, protocol }) => {
      const takesTexts = protocol === 'chat' || protocol === 'completions'
      return isChat || (takesTexts && (!isInfill || profileIn(kind, protocol).suffix))
    })
    return [...(isInfill ? [] : ['llama', 'fake']), ...remote.map(({ kind, protocol }) => `${kind}-${protocol}`)]
  }

  const all = [
    ...fronts.map((front) => ({
      client: 'all fields',
      path: front.path,
      body: front.body(together(front)),
      modelField: front.modelField ?? 'model',
    })),
    ...clientBodies.map((client) => ({ ...client, modelField: 'model' })),
  ]

  test.each(all)('$client at $path: nobody refuses what changes nothing', async ({ path, body, modelField }) => {
    const refusals: string[] = []
    for (const model of modelsFor(path)) {
      const { status, text } = await post(path, { ...body, [modelField]: model })
      if (status !== 200 || /"error":\s*["{]/.test(text)) refusals.push(`${model}: ${status} ${text}`)
    }
    expect(refusals).toEqual([])
  })
})
