/** Settings of the whole process. */
import { callSite, mistake } from './core/mistake.js';

/** Handlers mostly wait for something, so that many may wait at once. */
const CONCURRENCY = 32;

const DEFAULTS = { concurrency: CONCURRENCY, handlersDir: '', hotReload: false, where: '' };

export const settings = { ...DEFAULTS };

/**
 * `concurrency`: how many requests are worked on at once; with 1, handlers run one after the
 * other. `handlersDir`: a folder of files that define tools; `hotReload`: see discoverHandlers().
 */
export function configure(options) {
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!(name in DEFAULTS)) mistake(`configure() does not know "${name}"`);
    if (value !== undefined) settings[name] = value;
  }
  const { concurrency } = settings;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 65_536) {
    mistake(`configure(): concurrency is ${concurrency}, not a whole number from 1`);
  }
  if (options?.handlersDir !== undefined) settings.where = callSite();
}

/** The settings of discovery; empty before they are made. */
export function getDiscoveryConfig() {
  const { handlersDir, hotReload } = settings;
  return handlersDir ? { handlersDir, hotReload } : {};
}

export function resetConfig() {
  Object.assign(settings, DEFAULTS);
}
