import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { LlamaModel } from 'node-llama-cpp'
import { messageOf } from '../../../../contract/errors.ts'

/** Ends the pass that one context computes. */
export type Interrupt = {
  /** A pass fails at its next operation, and so does every later one until `lower`. */
  raise(): void
  lower(): void
}

/** What llama.cpp logs as errors when a pass is interrupted (`GGML_STATUS_ABORTED` is 1, and 2 what `llama_decode` makes of it). */
const expectedErrors = /compute_async failed with error 1\b|compute status: 1\b|failed to decode, ret = 2\b/

export const isOfInterrupt = (logged: string): boolean => expectedErrors.test(logged)

/** `GGML_BACKEND_API_VERSION` in ggml-backend-impl.h, of the release in node-llama-cpp 3.22.1: the layout of `ggml_backend_reg`. */
const apiVersion = 2
const pointerBytes = 8
/** After the version, `get_name`, `get_device_count` and `get_device`. */
const getProcAddressAt = 4 * pointerBytes
/** `GGML_BACKEND_DEVICE_TYPE_CPU` */
const cpuDevice = 0
const setterName = 'ggml_backend_set_abort_callback'
/** More than the `ggml_context` that the predicate below reads. */
const flagBytes = 1024

type Made<T> = { readonly made: T; readonly interrupt: Interrupt | undefined }

/**
 * Makes a context of the model whose passes on the CPU can be interrupted, or else one without an interrupt; `onMissing` gets the reason,
 * unless it is a GPU. Contexts are made one at a time.
 *
 * llama.cpp has a function for this, `llama_set_abort_callback`, but node-llama-cpp 3.22.1 neither calls it nor shows its pointer to the
 * context. While llama.cpp makes a context, it asks the CPU backend for the function that sets the callback, and calls that with the
 * context's backend (`llama_context::set_abort_callback`): meanwhile it is given one that sets ours.
 */
export async function withInterrupt<T>(
  { llama }: Pick<LlamaModel, 'llama'>,
  make: () => Promise<T>,
  onMissing: (why: string) => void = () => undefined,
): Promise<Made<T>> {
  // A GPU computes a step in little time, and llama.cpp cannot interrupt it.
  if (llama.gpu !== false) return { made: await make(), interrupt: undefined }
  opened ??= openHook()
  const hook = await opened.catch((error: unknown) => onMissing(messageOf(error)))
  if (hook === undefined) return { made: await make(), interrupt: undefined }
  const flag = Buffer.alloc(flagBytes)
  hook.give(flag)
  try {
    const made = await make()
    return { made, interrupt: { raise: () => void flag.fill(1), lower: () => void flag.fill(0) } }
  } finally {
    hook.stop()
  }
}

type Hook = {
  /** Contexts that are made from now on get this flag. */
  give(flag: Buffer): void
  stop(): void
}

let opened: Promise<Hook> | undefined

async function openHook(): Promise<Hook> {
  if (process.platform !== 'linux') throw new Error(`passes cannot be interrupted on ${process.platform}`)
  const { default: koffi } = await import('koffi')
  const [ggml, base] = [koffi.load(findLibrary(/^libggml\.[\w.]*so/)), koffi.load(findLibrary(/^libggml-base\.[\w.]*so/))]
  const GetProcAddress = koffi.proto(null, 'void *', ['void *', 'const char *'])
  const SetAbortCallback = koffi.proto(null, 'void', ['void *', 'void *', 'void *'])

  const device: unknown = ggml.func('void *ggml_backend_dev_by_type(int)')(cpuDevice)
  const reg: unknown = base.func('void *ggml_backend_dev_backend_reg(void *)')(device)
  const version: unknown = koffi.decode(reg, 'int')
  if (version !== apiVersion) throw new Error(`the interface of ggml's backends has version ${version} instead of ${apiVersion}`)
  const original: unknown = koffi.decode(reg, getProcAddressAt, 'void *')
  const getProcAddress = koffi.decode(original, GetProcAddress) as (reg: unknown, name: string) => unknown
  const setter = koffi.decode(getProcAddress(reg, setterName), SetAbortCallback) as (...args: unknown[]) => void
  // llama.cpp's compute threads call the callback, which JavaScript cannot answer. This function reads a flag in a struct: it says no of
  // zeros, and yes of ones.
  const predicate: unknown = base.symbol('ggml_get_no_alloc')

  // A context reads its flag as long as it lives, which nothing here knows: flags are kept.
  const flags: Buffer[] = []
  const setOurs = koffi.register((backend: unknown) => setter(backend, predicate, flags.at(-1)), koffi.pointer(SetAbortCallback))
  // A pass of another context may still call this after `stop`: neither is ever unregistered.
  const find = (of: unknown, name: string) => (name === setterName ? setOurs : getProcAddress(of, name))
  const findOurs = koffi.register(find, koffi.pointer(GetProcAddress))
  return {
    give(flag) {
      flags.push(flag)
      koffi.encode(reg, getProcAddressAt, 'void *', findOurs)
    },
    stop: () => koffi.encode(reg, getProcAddressAt, 'void *', original),
  }
}

/** The file of a library that this process has loaded already, so that it is not loaded twice. */
function findLibrary(name: RegExp): string {
  const paths = readFileSync('/proc/self/maps', 'utf8').match(/\/.*$/gm) ?? []
  const path = paths.find((candidate) => name.test(basename(candidate)))
  if (path === undefined) throw new Error(`llama.cpp's library ${name.source} is not loaded`)
  return path
}
