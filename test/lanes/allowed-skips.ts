import type { AllowedSkips } from './closing.ts'

/**
 * What CI may leave out: a file, or a test of it (`FILE > the beginning of its name`). Any other test that is skipped there counts as failed, and so
 * does, in `npm run nightly`, what that one runs.
 */
export const allowedSkips: readonly AllowedSkips[] = [
  {
    why: 'data of others (../shared/vectors) is not beside the checkout',
    tests: [
      'src/base/text/sse-decoder.test.ts > the torture vectors',
      'src/engine/remote/responses-upstream.test.ts > the recorded call of a custom tool',
      'src/engine/remote/wire/reply/recorded-messages.test.ts',
      'src/engine/remote/wire/reply/torture.test.ts',
      'src/grammar/json-schema-suite.test.ts',
      'src/jinja/jinja-goldens.test.ts',
      'src/model-text/parse/other-servers.test.ts',
      'src/model-text/parse/vectors.test.ts',
      'src/model-text/template/template-goldens.test.ts',
      'test/clients/check-recordings.test.ts',
    ],
  },
  {
    why: 'settings are measured for minutes in `npm run nightly`',
    isNightly: true,
    tests: ['test/e2e/models/tune.test.ts > tune finds that a batch of one token is slow'],
  },
  {
    why: 'SillyTavern is installed in `npm run nightly`, or by hand (npm run sillytavern)',
    isNightly: true,
    tests: ['test/sillytavern/sillytavern.test.ts'],
  },
  { why: 'they need a server that runs (DRAGOMAN_TEST_UPSTREAM)', tests: ['test/e2e/engines/engine-upstream.test.ts'] },
  {
    why: 'each agent runs over one protocol in CI, and over all in `npm run nightly`',
    isNightly: true,
    tests: [
      'test/agents/agents.test.ts > qwen over messages',
      'test/agents/agents.test.ts > qwen over responses',
      'test/agents/agents.test.ts > pi over chat',
      'test/agents/agents.test.ts > pi over messages',
    ],
  },
  {
    why: 'a prompt of twenty thousand tokens is read in `npm run nightly`',
    isNightly: true,
    tests: ["test/agents/real-model.test.ts > claude's instructions and tools are answered"],
  },
  {
    why: 'they take a minute each, in `npm run nightly`',
    isNightly: true,
    tests: [
      'test/e2e/guides/nextjs.test.ts',
      'test/e2e/engines/vulkan-build.test.ts',
      'test/e2e/clients/langchain-suite.test.ts',
    ],
  },
  {
    why: 'the largest fleets are simulated in `npm run nightly`',
    isNightly: true,
    tests: [
      'test/fleet-simulation.test.ts > several processes that know nothing of each other, in front of a hundred replicas, find > ',
      'test/fleet-simulation.test.ts > a thousand replicas',
    ],
  },
  {
    why: 'they measure for minutes in `npm run nightly` (DRAGOMAN_FLEETS=1)',
    isNightly: true,
    tests: ['test/soak/large-fleets.test.ts'],
  },
  { why: 'there is no kubectl', tests: ['test/deploy.test.ts > Kubernetes > kubectl renders them'] },
  { why: 'promtool comes with a whole Prometheus', tests: ['src/app/metrics/dashboards.test.ts > Prometheus accepts'] },
]
