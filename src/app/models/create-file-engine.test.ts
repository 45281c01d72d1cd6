import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { llamaServerBinary, llamaServerHint } from '../../../test/support/llama/llama-server.ts'
import { modelFromSource } from '../../config/models.ts'
import type { MediaConverter } from '../../contract/media.ts'
import { fetchFiles } from '../../lifecycle/fetch-files.ts'
import { builtinFile, builtinModel } from '../../registry/names/builtin-model.ts'
import { createFileEngine } from './create-file-engine.ts'
import { roomFor } from './memory/memory-sharing.ts'

const never = new AbortController().signal

test.skipIf(llamaServerBinary === undefined)(
  `a model with a projector runs on a llama-server where the library is not here, and the log says so${llamaServerHint}`,
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'dragoman-either-'))
    onTestFinished(() => rm(home, { recursive: true }))
    await cp(builtinModel.path, join(home, 'm.gguf'))
    await cp(builtinFile('dragoman-tiny-mmproj.gguf') ?? '', join(home, 'm-mmproj.gguf'))
    const settings = { slots: 1, contextLength: 512, threads: 1 }
    const config = { ...modelFromSource({ type: 'path', path: join(home, 'm.gguf') }, 'm'), ...settings }
    const said: string[] = []
    const note = (_: object, message: string) => void said.push(message)
    const engine = createFileEngine(config, {
      home,
      log: { info: note, debug: note, warn: note } as unknown as Logger,
      converter: { hasImages: false } as MediaConverter,
      observer: { onNote: () => undefined },
      locateFiles: (signal) => fetchFiles(config, { home, signal }),
      findTemplate: async () => undefined,
      sharing: { room: () => roomFor(8e9, 1) },
      senses: { findLibrary: () => undefined, findServer: () => llamaServerBinary },
    })
    onTestFinished(() => engine.close())
    await engine.ensureReady(never)
    expect(engine.facts.modalities).toEqual({ image: true, audio: false, video: false })
    expect(said).toContainEqual(expect.stringContaining(`it runs on ${llamaServerBinary}, since it has a multimodal projector`))
  },
  60_000,
)
