/** Handlers in a folder of their own: every file in it defines tools. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { settings } from './configure.js';
import { say } from './core/environment.js';
import { mistake, stackOf } from './core/mistake.js';
import { clearGroupRegistry } from './group.js';
import { clearRegistry } from './tool.js';
import { clearWorkflowRegistry } from './workflow.js';

const SOURCE = /\.[cm]?[jt]s$/;
const TYPES = /\.d\.[cm]?ts$/;

let passes = 0;

function isFolder(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The folder, from where the process runs or beside the file that names it. */
function folderOf({ handlersDir, where }) {
  const beside = where ? resolve(dirname(where.replace(/:\d+$/, '')), handlersDir) : '';
  const found = [resolve(handlersDir), beside].find((path) => path && isFolder(path));
  return found ?? mistake(`the folder of handlers "${handlersDir}" does not exist`, where);
}

/** The pass before the handshake, unless the author has begun one. */
export async function discoverOnce() {
  if (passes === 0) await discoverHandlers();
}

/**
 * Imports all files of the configured folder, in the order of their names; those that begin with
 * `_` are for the others. With `hotReload`, a second pass forgets what the first one defined.
 */
export async function discoverHandlers() {
  if (!settings.handlersDir) return;
  const folder = folderOf(settings);
  passes += 1;
  const isAgain = settings.hotReload && passes > 1;
  if (isAgain) {
    clearRegistry();
    clearGroupRegistry();
    clearWorkflowRegistry();
  }
  const files = readdirSync(folder).filter(
    (name) => SOURCE.test(name) && !TYPES.test(name) && !name.startsWith('_'),
  );
  for (const name of files.sort()) {
    const path = resolve(folder, name);
    if (statSync(path).isFile()) {
      try {
        // A module is evaluated again only under another URL.
        await import(pathToFileURL(path).href + (isAgain ? `?pass=${passes}` : ''));
      } catch (error) {
        say(stackOf(error));
        mistake(`${path} can't be used: ${error.message}`, '');
      }
    }
  }
}
