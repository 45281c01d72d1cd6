import { expect, test } from 'vitest'
import { buildsFor, chooseBuild, type Gpu } from './builds.ts'

/** The files of a release of llama.cpp, as its workflow names them. */
const assets = [
  ...['llama-b9993-bin-macos-arm64.tar.gz', 'llama-b9993-bin-macos-x64.tar.gz', 'llama-b9993-xcframework.zip'],
  ...['llama-b9993-bin-ubuntu-x64.tar.gz', 'llama-b9993-bin-ubuntu-arm64.tar.gz', 'llama-b9993-bin-ubuntu-s390x.tar.gz'],
  ...['llama-b9993-bin-ubuntu-vulkan-x64.tar.gz', 'llama-b9993-bin-ubuntu-vulkan-arm64.tar.gz'],
  ...['llama-b9993-bin-ubuntu-rocm-7.2-x64.tar.gz', 'llama-b9993-bin-ubuntu-openvino-2026.0-x64.tar.gz'],
  ...['llama-b9993-bin-android-arm64.tar.gz', 'llama-b9993-ui.tar.gz'],
  ...['llama-b9993-bin-win-cpu-x64.zip', 'llama-b9993-bin-win-cpu-arm64.zip', 'llama-b9993-bin-win-vulkan-x64.zip'],
  ...[
    'llama-b9993-bin-win-cuda-12.4-x64.zip',
    'cudart-llama-bin-win-cuda-12.4-x64.zip',
    'llama-b9993-bin-win-hip-radeon-x64.zip',
  ],
  ...['llama-b9993-bin-win-cuda-13.3-x64.zip', 'cudart-llama-bin-win-cuda-13.3-x64.zip'],
].map((name) => ({ name, sizeBytes: 1 }))
const release = { version: 'b9993', assets }

test.each([
  ['linux', 'x64', ['vulkan', 'rocm-7.2', 'openvino-2026.0', 'cpu']],
  ['linux', 'arm64', ['vulkan', 'cpu']],
  ['darwin', 'arm64', ['metal']],
  ['darwin', 'x64', ['cpu']],
  ['win32', 'x64', ['vulkan', 'rocm', 'cuda-13.3', 'cuda-12.4', 'cpu']],
  ['win32', 'arm64', ['cpu']],
  ['freebsd', 'x64', []],
])('the builds for %s on %s are %j', (platform, arch, kinds) => {
  expect(buildsFor(release, { platform, arch }).map(({ kind }) => kind)).toEqual(kinds)
})

const choose = (platform: string, arch: string, how: { wanted?: string; gpu: Gpu }) => {
  const machine = { platform, arch }
  return chooseBuild(buildsFor(release, machine), { ...how, version: 'b9993', machine })
}

test.each<[string, string, { wanted?: string; gpu: Gpu }, string]>([
  ['linux', 'x64', { gpu: 'none' }, 'b9993-cpu'],
  ['linux', 'x64', { gpu: 'cuda' }, 'b9993-vulkan'],
  ['win32', 'x64', { gpu: 'cuda' }, 'b9993-cuda-13.3'],
  ['win32', 'x64', { wanted: 'cuda-12.4', gpu: 'none' }, 'b9993-cuda-12.4'],
  ['linux', 'x64', { wanted: 'rocm', gpu: 'none' }, 'b9993-rocm-7.2'],
  ['darwin', 'arm64', { gpu: 'none' }, 'b9993-metal'],
  ['darwin', 'arm64', { gpu: 'metal' }, 'b9993-metal'],
])('on %s %s, %j is %s', (platform, arch, how, name) => {
  expect(choose(platform, arch, how).name).toBe(name)
})

test("a build for CUDA comes with CUDA's own libraries", () => {
  const { archives } = choose('win32', 'x64', { gpu: 'cuda' })
  expect(archives.map(({ name }) => name)).toEqual([
    'llama-b9993-bin-win-cuda-13.3-x64.zip',
    'cudart-llama-bin-win-cuda-13.3-x64.zip',
  ])
})

test('a build that there is not is refused with those that there are', () => {
  expect(() => choose('linux', 'arm64', { wanted: 'cuda', gpu: 'none' })).toThrow(
    "the release b9993 of llama.cpp has no build 'cuda' for linux arm64: it has vulkan, cpu",
  )
  expect(() => choose('freebsd', 'x64', { gpu: 'none' })).toThrow('has no build for freebsd x64; build a llama-server yourself')
})
